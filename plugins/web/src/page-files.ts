import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { NodekeepError, webPagePolicy } from '@nodekeep/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { lookup } from 'mime-types'

/** A file in memory, as it is sent. */
interface PageFile {
  readonly version: string
  readonly type: string
  readonly etag: string
  readonly bytes: Buffer
  /** `null` for types that are compressed already. */
  readonly gzipped: Buffer | null
}

const compress = promisify(gzip)

/**
 * Sends files of pages. Each is read and compressed at its first request and kept in memory, so pages should be small. Its entity
 * tag is of its content: packages have the same times in all versions.
 */
export class PageFiles {
  readonly #files = new Map<string, PageFile>()

  /**
   * Answers with a file of a folder.
   *
   * @param path the path within the folder, from the client
   * @throws NodekeepError NOT_FOUND
   */
  async send(
    { headers }: FastifyRequest,
    reply: FastifyReply,
    folder: string,
    path: string,
  ): Promise<FastifyReply> {
    const { type, etag, bytes, gzipped } = await this.#file(join(folder, ...namesOf(path)))
    reply.headers({
      'cache-control': 'no-cache',
      // For all: a document among the files of a page, or a worker, is as bounded as the first page.
      'content-security-policy': webPagePolicy,
      'cross-origin-resource-policy': 'same-origin',
      etag,
      'referrer-policy': 'no-referrer',
      vary: 'accept-encoding',
      'x-content-type-options': 'nosniff',
    })
    if (headers['if-none-match']?.includes(etag)) return reply.code(304).send()
    reply.type(type)
    const acceptsGzip = /\bgzip\b(?!;\s*q=0(\.0*)?\s*(,|$))/.test(String(headers['accept-encoding'] ?? ''))
    if (gzipped === null || !acceptsGzip) return reply.send(bytes)
    return reply.header('content-encoding', 'gzip').send(gzipped)
  }

  async #file(file: string): Promise<PageFile> {
    const found = await stat(file).catch(() => null)
    if (!found?.isFile()) throw notFound()
    const version = `${found.ino} ${found.size} ${found.mtimeMs}`
    const known = this.#files.get(file)
    if (known?.version === version) return known
    const bytes = await readFile(file)
    const type = lookup(file) || 'application/octet-stream'
    const isText = /^text\/|javascript|json|xml|wasm/.test(type)
    const read = {
      version,
      type: type.startsWith('text/') ? `${type}; charset=utf-8` : type,
      // Weak, since the compressed and the plain form share it (RFC 9110, section 8.8.1).
      etag: `W/"${createHash('sha256').update(bytes).digest('base64url')}"`,
      bytes,
      gzipped: isText ? await compress(bytes, { level: 9 }) : null,
    }
    this.#files.set(file, read)
    return read
  }
}

/** Returns the names of a path. Hidden files, and everything outside of the folder, are not found. */
function namesOf(path: string): string[] {
  const names = path.split('/')
  if (names.some((name) => name === '' || /^\.|[\\\0]/.test(name))) throw notFound()
  return names
}

function notFound(): NodekeepError {
  return new NodekeepError('NOT_FOUND', 'There is no such file.')
}
