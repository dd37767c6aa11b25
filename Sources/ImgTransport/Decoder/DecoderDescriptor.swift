/// The descriptor number under which a decoder finds what its coordinator passes on.
package enum DecoderDescriptor {
  /// The connection to its worker.
  package static let channel: CInt = 3
}
