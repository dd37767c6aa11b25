import ImgModel
import ImgSystem
import ImgTransport
import ImgWire

/// The call that has an image decoded. It is uploaded without a URL, and the pixels come back in a sealed memory
/// file.
struct PixelCall: Sendable {
  let call: SessionCall

  /// - Parameter frame: see ``ImageClient/pixels(of:frame:)``.
  /// - Throws: ``ImageError/Code/frameOutOfRange``, and ``ImageError/Code/internal`` if the process has no
  ///   memory or descriptors left.
  init(_ image: LoadedImage, frame: Int) throws(ImageError) {
    let options = RequestOptions(variant: try Self.variant(showing: frame), keep: .none)
    call = try UploadCall(image.bytes, as: nil, options, wantsPixels: true).call
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
