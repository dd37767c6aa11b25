import ImgModel
import ImgSystem
import ImgWire

/// The call of one picture that is put. Its bytes go to the cluster in a sealed memory file.
struct UploadCall: Sendable {
  let call: SessionCall

  /// - Throws: ``ImageError/Code/internal`` if the process has no memory or descriptors left.
  init(_ picture: [UInt8], _ asked: ClusterRequest) throws(ImageError) {
    let file: PassedFile
    do throws(SystemError) {
      file = try MemoryFile(containing: picture).file
    } catch {
      throw ImageError(
        code: .internal, url: asked.url.text, isRetryable: true, message: "\(error)")
    }
    call = SessionCall(
      request: { id in
        .upload(
          UploadRequest(
            id: id, url: asked.url.text, byteCount: picture.count, options: asked.options))
      },
      file: file,
      detachment: { id in .detach(PlainRequest(id: id)) },
      turn: .load(host: asked.url.host, priority: asked.options.priority),
      step: { reply in LoadCall.step(reply) { _ in } })
  }
}
