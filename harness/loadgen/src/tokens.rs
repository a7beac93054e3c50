//! Bearer tokens: whose goes with which request.

use profiles::ask::Ask;
use profiles::spec::Token;

/// One thread's tokens.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    list: Vec<Token>,
    next: usize,
}

impl Tokens {
    /// Hands out `list`.
    pub fn new(list: &[Token]) -> Tokens {
        Tokens { list: list.to_vec(), next: 0 }
    }

    /// The token for `ask` and its index in the list: the user's own where
    /// the answer is the user's, else each in turn. `None` without any.
    pub fn pick(&mut self, ask: &Ask) -> Option<(usize, &str)> {
        let index = match ask {
            Ask::Me { id, .. } => {
                self.list.iter().position(|token| token.user == *id)?
            }
            _ => {
                self.next = (self.next + 1) % self.list.len().max(1);
                self.next
            }
        };
        Some((index, &self.list.get(index)?.token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_asks_for_himself_with_his_own_token() {
        let token = |user, text: &str| Token { user, token: text.into() };
        let mut tokens = Tokens::new(&[token(42, "a"), token(43, "b")]);
        let me = |id| Ask::Me { id, accept_encoding: None };
        assert_eq!(tokens.pick(&me(43)), Some((1, "b")));
        assert_eq!(tokens.pick(&me(44)), None);
        let seen: Vec<String> = (0..3)
            .filter_map(|_| Some(tokens.pick(&Ask::Pipeline)?.1.to_string()))
            .collect();
        assert_eq!(seen, ["b", "a", "b"]);
        assert_eq!(Tokens::default().pick(&Ask::Pipeline), None);
    }
}
