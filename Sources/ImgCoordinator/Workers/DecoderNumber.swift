/// Names a decoder process. Unlike a `DecoderID`, which a worker chooses, it is the coordinator's own,
/// and differs from the number of every other decoder of its life.
struct DecoderNumber: RawRepresentable, Hashable {
  let rawValue: UInt32
}
