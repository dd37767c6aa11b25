import Glibc

/// A part of a request in the memory of libmicrohttpd, and where it lies there.
@safe
struct RequestText {
  /// Valid during the call that got it.
  private let start: UnsafePointer<CChar>
  let count: Int

  init(_ text: UnsafePointer<CChar>) {
    unsafe start = text
    count = unsafe strlen(text)
  }

  init(_ start: UnsafePointer<CChar>, count: Int) {
    unsafe self.start = start
    self.count = count
  }

  /// Where the text begins, and where the byte after it is.
  var range: Range<UInt> {
    let address = unsafe UInt(bitPattern: start)
    return address..<address + UInt(count)
  }

  /// The text without spaces and tabs at its end, which are no part of a value (RFC 9110, section 5.5).
  var withoutTrailingWhitespace: RequestText {
    let text = unsafe UnsafeBufferPointer(start: start, count: count)
    let blanks = unsafe text.reversed().prefix { $0 == 0x20 || $0 == 0x09 }.count
    return unsafe RequestText(start, count: count - blanks)
  }

  var bytes: [UInt8] { unsafe Array(UnsafeRawBufferPointer(start: start, count: count)) }

  /// Bytes that are not UTF-8 become U+FFFD.
  var string: String {
    unsafe String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
  }
}
