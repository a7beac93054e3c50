//! The ways in which the twin can be dishonest, broken, or only unusual.

/// One departure from the honest twin.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Cheat {
    /// None: right in everything.
    Honest,
    /// Right in everything, and as unusual as the RFCs allow.
    Unusual,
    /// Right in everything; closes without a status where it refuses.
    Curt,
    /// Wrong once, then right.
    WrongOnce,

    // Answers to sums.
    Constant,
    Status500,
    JunkBefore,
    HtmlType,
    LengthBodyIgnored,
    ChunkedBodyIgnored,
    SixteenBit,
    ThirtyTwoBit,
    ByPosition,
    CacheByUrl,
    NoTrim,
    MixedMissing,
    AnyMethod,
    HeadWithBody,
    NoPercent,

    // Reading requests.
    OneRead,
    BlankLineCut,
    ChunkLineCut,
    LowerHexOnly,
    NoExtensions,
    NoTrailers,
    NoAbsolute,
    NamesByCase,
    LongHeader500,
    PrefixRoutes,
    LastLength,
    LengthWraps,
    LengthOverChunked,
    BadChunksTaken,
    BadLinesTaken,

    // Writing answers.
    Chunked10,
    LengthAndChunked,
    TwoLengths,
    Twice,
    Endless,
    EndlessHead,
    EndlessInterim,

    // Connections.
    ClosesAfterTen,
    NeverCloses,
    ResetWounds,
    AbortWounds,
    Silent,
    Drip,

    // Pipelining.
    PipelineNewline,
    FixedBatch,
    ReversedBatch,

    // Documents.
    DefaultDocument,
    OneItem,
    TotalNotMultiplied,
    Total32Bit,
    DefaultIsZero,
    NoNumberIsOne,
    OverRange500,
    JsonAsText,

    // Codings of documents.
    NeverCompressed,
    GzipTwice,
    GzipUnasked,
    GzipAfterGzip,
    GzipForBr,
    GzipForQ0,
    GzipBySubstring,
    NoVary,

    // Uploads.
    EchoAtOnce,
    EchoWhenRead,
    EmptyRefused,
    SmallLimit,
    FramingCounted,
    CutAnswered,

    // Static files.
    OneByte,
    ZerosInBrotli,
    FileGzipTwice,
    FileGzipUnasked,
    FileGzipForQ0,
    FileHeadEmpty,
    FileAsText,
    EmptyForMissing,
    Leak,
}
