import ImgFetch
import ImgStore
import ImgSystem

/// Where the decoder takes a picture from.
enum DecodeSource: Sendable {
  /// A body that came in.
  case body(BodyContent)
  /// The original in the store. It is read when its turn comes, so that of those that wait none is
  /// in memory.
  case original(ContentKey)
  /// A file of this machine, at an absolute path; read when its turn comes, like an original.
  case file(String)
  /// What somebody uploaded; read when its turn comes, like an original.
  ///
  /// - isKept: whether its bytes are wanted with the result.
  case uploaded(MemoryFile, byteCount: Int, isKept: Bool)
}
