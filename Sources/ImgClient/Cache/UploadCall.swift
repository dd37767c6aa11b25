import ImgModel
import ImgSystem
import ImgWire

/// The call that uploads a picture. Its bytes go to the cluster in a sealed memory file.
struct UploadCall: Sendable {
  let call: SessionCall

  /// A picture that is put.
  ///
  /// - Throws: ``ImageError/Code/internal`` if the process has no memory or descriptors left.
  init(_ picture: [UInt8], _ asked: ClusterRequest) throws(ImageError) {
    do throws(ImageError) {
      try self.init(
        picture, as: asked.url.text, asked.options,
        turn: .load(host: asked.url.host, priority: asked.options.priority))
    } catch {
      throw error.about(asked.url.text)
    }
  }

  /// - Parameters:
  ///   - url: see ``UploadRequest/url``.
  ///   - wantsPixels: see ``UploadRequest/wantsPixels``.
  init(
    _ picture: [UInt8], as url: String?, _ options: RequestOptions, wantsPixels: Bool = false,
    turn: SessionCall.Turn = .first
  ) throws(ImageError) {
    let file: PassedFile
    do throws(SystemError) {
      file = try MemoryFile(containing: picture).file
    } catch {
      throw ImageError(code: .internal, isRetryable: true, message: "\(error)")
    }
    let byteCount = picture.count
    call = SessionCall(
      request: { id in
        .upload(
          UploadRequest(
            id: id, url: url, byteCount: byteCount, options: options, wantsPixels: wantsPixels))
      },
      file: file,
      detachment: { id in .detach(PlainRequest(id: id)) },
      turn: turn,
      step: { reply in LoadCall.step(reply) { _ in } })
  }
}
