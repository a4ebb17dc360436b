import { invalid, NodekeepError } from '@nodekeep/plugin-sdk'
import type { FastifyRequest } from 'fastify'

/** The path at which the files of the user are who asks. */
export const davRoot = '/dav'

/** Characters of a path: `files` takes no longer one. */
const longestPath = 4096

/** The file or folder that an address means. */
export interface Target {
  /** The path within the files of the user, such as `/photos/cat.jpg`. */
  readonly path: string
  /** Whether the address ends with a slash, as that of a folder does. */
  readonly hasSlash: boolean
}

/**
 * Reads the path of an address, percent-encoded. Two slashes count as one.
 *
 * @throws NodekeepError VALIDATION_ERROR
 */
export function targetOf(address: string): Target {
  if (address.includes('#')) throw invalid('The address must not have a fragment. Send "#" as "%23".')
  const [encoded = ''] = address.split('?', 1)
  if (!isBelowRoot(encoded)) throw invalid(`The address must begin with "${davRoot}/".`)
  const names = encoded.slice(davRoot.length).split('/').filter(Boolean).map(decodedName)
  const path = `/${names.join('/')}`
  if (path.length > longestPath) throw invalid(`The path is longer than ${longestPath} bytes.`)
  return { path: path.normalize('NFC'), hasSlash: encoded.endsWith('/') }
}

/**
 * Reads the header `destination` of COPY and MOVE (RFC 4918, section 10.3): a path, or the address of this node. Proxies may change the scheme
 * and the port, so these do not matter.
 *
 * @throws NodekeepError VALIDATION_ERROR, FORBIDDEN for another host and for a path that has no files
 */
export function destinationOf(request: Pick<FastifyRequest, 'headers' | 'hostname'>): Target {
  const header = request.headers.destination
  if (typeof header !== 'string' || header === '')
    throw invalid('Send the new address in the header "destination".')
  const address = pathOnNode(header, request.hostname)
  if (address === null)
    throw new NodekeepError(
      'FORBIDDEN',
      'The destination is on another server. Download the file, and upload it there.',
    )
  if (!isBelowRoot(address.split('?', 1)[0] ?? ''))
    throw new NodekeepError('FORBIDDEN', `The destination must begin with "${davRoot}/".`)
  return targetOf(address)
}

/** The path of an address, which may have a host; null if the host is another one. */
export function pathOnNode(address: string, hostname: string): string | null {
  if (address.startsWith('/')) return address
  const [, authority, path] = /^https?:\/\/([^/?#]*)(.*)$/i.exec(address) ?? []
  if (authority === undefined || path === undefined) return null
  const host = authority.replace(/^.*@/, '').replace(/:\d*$/, '')
  return host.toLowerCase() === hostname.toLowerCase() ? path : null
}

/** The address of a file or folder in an answer: a path, percent-encoded. That of a folder ends with a slash. */
export function hrefOf(path: string, isFolder: boolean): string {
  const encoded = path.split('/').map(encodeURIComponent).join('/')
  return `${davRoot}${isFolder && path !== '/' ? `${encoded}/` : encoded}`
}

/** Whether a path lies in a folder, at any depth. */
export function isBelow(path: string, folder: string): boolean {
  return folder === '/' ? path !== '/' : path.startsWith(`${folder}/`)
}

function isBelowRoot(encoded: string): boolean {
  return encoded === davRoot || encoded.startsWith(`${davRoot}/`)
}

function decodedName(encoded: string): string {
  // Node gives each byte as one character.
  if (/[^\x21-\x7e]/.test(encoded)) throw notEncoded()
  const name = decoded(encoded)
  if (name.includes('/')) throw invalid('A name must not contain a slash ("%2F").')
  return name
}

function decoded(encoded: string): string {
  try {
    return decodeURIComponent(encoded)
  } catch {
    throw notEncoded()
  }
}

function notEncoded(): NodekeepError {
  return invalid('The address is not well encoded. Send UTF-8, percent-encoded.')
}
