/** A failure of a file operation, under the code that the SDK knows it by. */
export class FileError extends Error {
  readonly code: string

  constructor(code: 'ENOENT' | 'EEXIST' | 'EACCES' | 'ENOTDIR' | 'EISDIR' | 'ENOTEMPTY' | 'ENOTSUP' | 'EIO') {
    super(code)
    this.code = code
  }
}
