package import ImgModel

/// Names one decoder of the worker.
package struct DecoderReference: Hashable, Sendable, Codable {
  package let decoder: DecoderID

  package init(decoder: DecoderID) {
    self.decoder = decoder
  }
}
