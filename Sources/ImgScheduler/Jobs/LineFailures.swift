import ImgModel

extension Failure {
  /// Of a line that the journal has lost.
  static let damagedList = Failure(
    stage: .queue, code: .internal, isRetryable: false,
    detail: "the journal is damaged here: this line of the list is lost")

  /// Of a line whose job has lost the headers to ask with.
  static let lostHeaders = Failure(
    stage: .queue, code: .internal, isRetryable: false,
    detail: "the values of the job's headers, or its cookies, are lost or damaged; submit the list "
      + "again")
}
