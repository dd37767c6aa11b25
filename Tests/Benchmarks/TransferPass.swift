/// One way of getting all bodies of a list, once.
struct TransferPass {
  let seconds: Double
  /// User and system time of the receiving process.
  let processorSeconds: Double
}
