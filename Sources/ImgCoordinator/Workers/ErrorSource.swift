import ImgModel

/// A process whose standard error the coordinator reads.
enum ErrorSource: Hashable {
  case worker(WorkerID)
  case decoder(DecoderNumber)

  /// The name that begins the program's own lines, behind their time; `nil` for a program that a
  /// picture may control, none of whose lines is its own.
  var program: String? {
    switch self {
    case .worker: "imgworker"
    case .decoder: nil
    }
  }
}
