import {
  type AuthenticatedUser,
  invalid,
  NodekeepError,
  type UserFiles,
  type WasmPreopen,
} from '@nodekeep/plugin-sdk'

/** A folder that a request opens for a program. */
interface RequestedFolder {
  readonly path: string
  /** Absolute path under which the program sees the folder; the folder's own when not given. */
  readonly as?: string
  readonly writable?: boolean
}

/**
 * Finds the folders that a program is to see.
 *
 * @throws NodekeepError VALIDATION_ERROR, NOT_FOUND, FORBIDDEN for an API token that may not read or write files
 */
export async function preopensOf(
  requested: readonly RequestedFolder[],
  user: AuthenticatedUser,
  files: UserFiles,
): Promise<WasmPreopen[]> {
  const preopens: WasmPreopen[] = []
  for (const { path, as, writable = false } of requested) {
    demandScope(user, 'files:read')
    if (writable) demandScope(user, 'files:write')
    const entry = await files.stat(path)
    if (entry.type === 'file')
      throw invalid(`"${entry.path}" is a file. Only folders can be opened for a program.`)
    const preopen = { guestPath: guestPath(as ?? entry.path), files, path: entry.path, writable }
    for (const other of preopens) checkApart(preopen, other)
    preopens.push(preopen)
  }
  return preopens
}

/** A program can read and change only what its caller may. */
function demandScope({ scopes }: AuthenticatedUser, scope: string): void {
  if (scopes === null || scopes.includes(scope)) return
  throw new NodekeepError(
    'FORBIDDEN',
    `This API token may not open folders for a program: it needs the scope "${scope}".`,
  )
}

function guestPath(path: string): string {
  const names = path.slice(1).split('/')
  const isPlain = path === '/' || names.every((name) => !['', '.', '..'].includes(name))
  if (path.startsWith('/') && isPlain && !path.includes('\0') && path.isWellFormed()) return path
  throw invalid(
    `"as" must be an absolute path without empty names, "." and "..", such as "/data"; "${path.slice(0, 100)}" is not.`,
  )
}

/** If two folders overlapped, it would be chance which one the program sees or which change is stored. */
function checkApart(one: WasmPreopen, other: WasmPreopen): void {
  if (overlap(one.guestPath, other.guestPath)) {
    throw invalid(
      `The program would see one folder within another: "${other.guestPath}", "${one.guestPath}".`,
    )
  }
  if ((one.writable || other.writable) && overlap(one.path, other.path)) {
    throw invalid(`A writable folder must not overlap with another one: "${other.path}", "${one.path}".`)
  }
}

function overlap(one: string, other: string): boolean {
  return slashed(one).startsWith(slashed(other)) || slashed(other).startsWith(slashed(one))
}

function slashed(path: string): string {
  return path.endsWith('/') ? path : `${path}/`
}
