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
    DeleteTaken,
    NegativesRefused,
    TrimsEndOnly,

    // Reading requests.
    OneRead,
    BlankLineCut,
    ChunkLineCut,
    LowerHexOnly,
    NoExtensions,
    NoTrailers,
    NoAbsolute,
    NoAbsolutePost,
    NamesByCase,
    ChunkedExact,
    LongHeader500,
    PrefixRoutes,
    LastLength,
    LengthWraps,
    LengthOverChunked,
    LastFramingCounts,
    BadChunksTaken,
    ChunkEndsTaken,
    BadLinesTaken,
    CodingBySubstring,
    CodingByPrefix,
    SpaceColonTaken,
    FoldIs500,
    HostlessTaken,
    TwoHostsTaken,
    ManyFields500,
    LongLine500,
    ExpectIs500,

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
    PostStaysOpen,
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
    DigitsWithin,
    OverRange500,
    Negative500,
    JsonAsText,

    // Codings of documents.
    NeverCompressed,
    GzipTwice,
    GzipUnasked,
    GzipAfterGzip,
    GzipForBr,
    GzipForQ0,
    BrForQ0,
    EverySecondPlain,
    GzipBySubstring,
    NoVary,

    // Uploads.
    EchoAtOnce,
    ChunkedEchoAtOnce,
    EchoWhenRead,
    EmptyRefused,
    SmallLimit,
    FramingCounted,
    CutAnswered,
    CutChunksAnswered,
    ChunkedCapped,

    // Static files.
    OneByte,
    OneFileWrong,
    OneCodedWrong,
    ZerosInBrotli,
    FileGzipTwice,
    FileGzipUnasked,
    FileGzipForQ0,
    FileHeadEmpty,
    FileAsText,
    EmptyForMissing,
    EmptyForMissingCss,
    Leak,
    LeakEncoded,
}
