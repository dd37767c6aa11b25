import ImgModel

extension JobChange {
  init(_ change: ImageJobChange) {
    self =
      switch change {
      case .pause: .pause
      case .resume: .resume
      case .cancel: .cancel
      case .retry(let includesFinal): .retry(includesFinal: includesFinal)
      case .setPriority(let priority): .prioritise(priority.rawValue)
      case .remove: .remove
      }
  }
}
