import ImgSystem
import ImgTransport
import ImgWorkerMachine

/// The part of a picture that has arrived, on its way to a decoder.
struct PreviewJob: Sendable {
  let order: PreviewOrder
  let part: ArrivedPart
}

/// Bytes of a body that is still arriving.
enum ArrivedPart: Sendable {
  /// A copy, in memory that a decoder takes over.
  case memory(PictureMemory, byteCount: Int)
  /// The file where later bytes are added.
  case file(SpoolFile, byteCount: Int)
}
