import { SyncFailure } from '../sync-failure.ts'

/** Reads the address of a node. */
export function nodeUrl(text: string): URL {
  const url = URL.parse(text)
  if (url !== null && ['http:', 'https:'].includes(url.protocol)) return url
  throw new SyncFailure('stop', `"${text}" is no address of a node. Give one such as https://me.example.org.`)
}
