import ImgModel

extension JobRecord {
  /// Applies a change that was found to be legal when it was requested.
  mutating func applyLegal(_ change: JobChange, at moment: WallTime) {
    do {
      try apply(change, at: moment)
    } catch {
      preconditionFailure("an illegal change was not refused: \(error)")
    }
  }
}
