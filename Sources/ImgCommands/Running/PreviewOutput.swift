import ImgClient
import ImgModel
import ImgSystem

/// The destination of previews: they replace each other in the file of the command's thumbnail, and each has
/// a line of JSON.
final class PreviewOutput {
  private let path: String?
  private let isJSON: Bool
  private let context: CommandContext
  /// `nil` before the first preview.
  private var file: PreviewFile?
  /// Whether the file takes no previews: it is a device or a pipe, or it cannot be written.
  private var isFileLeftAlone: Bool

  init(_ destination: PictureOutput, in context: CommandContext) {
    path = destination.file
    isJSON = destination.isJSON
    self.context = context
    let status = path.flatMap { try? FileStatus(following: $0) }
    isFileLeftAlone = status?.isRegularFile == false
  }

  /// A preview that cannot be written is dropped: the thumbnail will say why it cannot be written, too.
  ///
  /// - Parameter source: what the preview is one of.
  func show(_ preview: PicturePreview, of source: RequestedURL) {
    if let path, !isFileLeftAlone {
      do throws(SystemError) {
        if file == nil { file = try PreviewFile(path) }
        try file?.replace(with: preview.bytes)
      } catch {
        isFileLeftAlone = true
        context.note("imgctl: no previews in \(path): \(error)\n")
      }
    }
    if isJSON {
      try? context.output.write(json: PreviewReport(preview, of: source))
      try? context.output.flush()
    }
  }

  /// The thumbnail has replaced the previews.
  func finish() {
    file?.finish()
  }

  /// There is no thumbnail: the file becomes what it was before.
  func undo() throws(SystemError) {
    try file?.undo()
  }
}
