import ImgModel
import ImgSystem

/// What the decode thread wants done by the loop, which alone owns the coordinator's channel.
enum DecoderCommand: Sendable {
  /// Have the coordinator start a decoder, whose end of a socket pair this is.
  case start(DecoderID, channel: PassedFile)
  /// Have the coordinator kill a decoder.
  case end(DecoderID)
  /// The first decoder is ready.
  case ready(SandboxReport)
  /// No decoder can be started, for this reason. The thread has ended.
  case failed(String)
}
