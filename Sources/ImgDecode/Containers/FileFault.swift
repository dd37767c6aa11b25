import CPNG
import ImgFacts
import ImgModel

/// What is wrong with a file whose loader does not say it.
enum FileFault {
  /// - Parameter error: of the loader.
  /// - Returns: `nil` if nothing is found.
  static func text(
    of input: PictureInput, in format: ImageFormat, _ error: VipsError
  ) -> String? {
    switch format {
    // A picture with a damaged header may have any number of pixels.
    case .png: libpngText(of: input, readsPixels: error.operation != Image.headerOperation)
    case .webp: missingBytes(of: input) ?? textOfFacts(of: input)
    default: textOfFacts(of: input)
    }
  }

  /// libvips keeps none of libpng's words.
  private static func libpngText(of input: PictureInput, readsPixels: Bool) -> String? {
    guard let bytes = unsafe input.buffer.baseAddress else { return nil }
    var text = [CChar](repeating: 0, count: 128)
    guard
      unsafe img_png_find_fault(bytes, input.byteCount, readsPixels, &text, text.count)
    else { return nil }
    return "libpng: " + String(decoding: text.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
  }

  /// A WebP declares its length.
  private static func missingBytes(of input: PictureInput) -> String? {
    guard let end = try? WebPChunks(file: ByteWindow(input)).end, end > input.byteCount else {
      return nil
    }
    return "the file has \(input.byteCount) of \(end) bytes"
  }

  private static func textOfFacts(of input: PictureInput) -> String? {
    do throws(FactsError) {
      _ = try PictureFacts.reading(input, .all)
      return nil
    } catch {
      return Failure(error).detail
    }
  }
}
