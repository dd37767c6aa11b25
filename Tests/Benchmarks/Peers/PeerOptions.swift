/// What the table of peers needs beside the options of every measurement.
struct PeerOptions {
  /// Empty if the table is not wanted.
  var rows: [PeerRow] = []
  /// Where img2dataset and its Python lie. They need not be installed.
  var programDirectory = ""
  /// Where the programs in Python lie that measure what this one cannot.
  var scriptDirectory = ""
  /// Large pictures of the user; empty for generated ones.
  var largePictureDirectory = ""
}
