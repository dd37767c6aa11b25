/// What the decode thread has to do.
enum DecodeTask: Sendable {
  case picture(DecodeJob)
  case preview(PreviewJob)
}
