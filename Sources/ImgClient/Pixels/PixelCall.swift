import ImgModel
import ImgSystem
import ImgTransport
import ImgWire

/// The call that has an image decoded. Its bytes go to the cluster in a sealed memory file, and the pixels
/// come back in another one.
struct PixelCall: Sendable {
  let call: SessionCall

  /// - Parameter frame: see ``ImageClient/pixels(of:frame:)``.
  /// - Throws: ``ImageError/Code/frameOutOfRange``, and ``ImageError/Code/internal`` if the process has no
  ///   memory or descriptors left.
  init(_ image: LoadedImage, frame: Int) throws(ImageError) {
    let options = RequestOptions(variant: try Self.variant(showing: frame), keep: .none)
    let file: PassedFile
    do throws(SystemError) {
      file = try MemoryFile(containing: image.bytes).file
    } catch {
      throw ImageError(code: .internal, isRetryable: true, message: "\(error)")
    }
    let byteCount = image.bytes.count
    call = SessionCall(
      request: { id in
        .upload(
          UploadRequest(
            id: id, url: nil, byteCount: byteCount, options: options, wantsPixels: true))
      },
      file: file,
      detachment: { id in .detach(PlainRequest(id: id)) },
      step: { reply in
        switch reply.message {
        case .waiting, .progress, .preview: .more(nil)
        case .got(let got): got.outcome.isOfLeavingCoordinator ? .again : .answer
        case .hello, .refused, .submitted, .status, .jobs, .job, .results, .forgotten, .detached,
          .sweeping, .stopping:
          .answer
        }
      })
  }

  /// The whole frame in its own size.
  private static func variant(showing frame: Int) throws(ImageError) -> Variant {
    let side = Variant.sideRange.upperBound
    do throws(VariantError) {
      return try Variant(
        width: side, height: side, frames: frame == 0 ? .first : .number(frame))
    } catch {
      throw ImageError(code: .frameOutOfRange, message: "\(error)")
    }
  }

  /// The pixels in an answer to the call.
  static func pixels(in answer: SessionReply) throws(ImageError) -> ImagePixels {
    guard case .got(let got) = answer.message else {
      throw ImageError(ClientError.unexpectedReply, url: nil)
    }
    switch got.outcome {
    case .cancelled: throw .cancelled(nil)
    case .failed(let failure, _): throw ImageError(failure, url: nil)
    case .done(let thumbnail, _, _):
      guard let contents = answer.contents,
        let pixels = ImagePixels(
          width: thumbnail.width, height: thumbnail.height, bytes: try bytes(in: contents))
      else { throw ImageError(ClientError.unexpectedReply, url: nil) }
      return pixels
    }
  }

  private static func bytes(
    in contents: Result<[UInt8], SystemError>
  ) throws(ImageError) -> [UInt8] {
    do throws(SystemError) {
      return try contents.get()
    } catch {
      throw ImageError(ClientError.connection(.system(error)), url: nil)
    }
  }
}
