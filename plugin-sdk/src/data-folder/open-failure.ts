import { dirname } from 'node:path'
import { messageOf } from '../error-text.ts'
import { resultCodes as codes, resultCode } from './disk-failures.ts'
import { unwritableFolder } from './private-folder.ts'

/**
 * Returns the error that tells a person why the database cannot be opened, and what to do.
 *
 * @param remedy what to do if the file is damaged, as a sentence
 */
export function openFailure(path: string, cause: unknown, remedy: string): Error {
  switch (resultCode(cause)) {
    case codes.notadb:
    case codes.corrupt:
      return new Error(`${path} is damaged or is not a database. ${remedy}`, { cause })
    case codes.busy:
      return new Error(`${path} is in use by another program. Stop that program and start again.`, { cause })
    case codes.full:
      return new Error(`The disk that holds ${path} is full. Free some space and start again.`, { cause })
    case codes.readonly:
    case codes.cantopen:
      return unwritableFolder(dirname(path), cause)
    default:
      return new Error(`${path} cannot be opened: ${messageOf(cause)}.`, { cause })
  }
}
