/// How much time goes into making a thumbnail smaller.
enum EncodingEffort {
  /// As much as is worth it for what is stored.
  case usual
  /// As little as possible, for what is shown for a moment.
  case least
}
