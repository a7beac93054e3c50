//! How long and how often: the four presets.

use std::{fmt, str::FromStr, time::Duration};

use profiles::record::Settings;

/// A preset's word.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Preset {
    /// Does everything once, to see that it works.
    Smoke,
    /// A first look.
    Quick,
    /// A fair comparison.
    Standard,
    /// For publication.
    Full,
}

impl Preset {
    /// All presets, shortest first.
    pub const ALL: [Preset; 4] =
        [Preset::Smoke, Preset::Quick, Preset::Standard, Preset::Full];

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Preset::Smoke => "smoke",
            Preset::Quick => "quick",
            Preset::Standard => "standard",
            Preset::Full => "full",
        }
    }

    /// What it means.
    pub fn settings(self) -> Settings {
        let ms = |n| Duration::from_millis(n).as_nanos() as u64;
        // The gun takes the whole gap. What 32 uploads of up to 20 MiB leave
        // in flight drains in about 300 ms on two CPUs.
        let (rounds, window_ms, warmup_ms, gap_ms, levels, cap) = match self {
            Preset::Smoke => (1, Some(300), 100, 300, Some(1), Some(16)),
            Preset::Quick => (3, Some(1_000), 300, 500, Some(1), Some(512)),
            Preset::Standard => (5, Some(5_000), 1_000, 1_000, None, None),
            Preset::Full => (7, None, 2_000, 1_000, None, None),
        };
        Settings {
            preset: self.as_str().into(),
            rounds,
            window_ns: window_ms.map(ms),
            warmup_ns: ms(warmup_ms),
            gap_ns: ms(gap_ms),
            levels,
            connections_cap: cap,
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Preset {
    type Err = String;

    fn from_str(text: &str) -> Result<Preset, String> {
        Preset::ALL.into_iter().find(|p| p.as_str() == text).ok_or_else(|| {
            let word: String = text.chars().take(20).collect();
            format!(
                "`{word}` is no preset; write smoke, quick, standard or full"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_reads_back_and_another_word_is_refused() {
        for preset in Preset::ALL {
            assert_eq!(preset.to_string().parse(), Ok(preset));
            assert_eq!(preset.settings().preset, preset.as_str());
        }
        assert!("fast".parse::<Preset>().unwrap_err().contains("quick"));
    }

    #[test]
    fn scored_presets_have_the_three_rounds_the_method_asks_for() {
        for preset in [Preset::Quick, Preset::Standard, Preset::Full] {
            assert!(preset.settings().rounds >= 3);
        }
    }
}
