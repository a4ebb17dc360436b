import { hash } from 'node:crypto'
import { clientSignal, NodekeepError, userOf, type WasmModule } from '@nodekeep/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { moduleTooLarge } from '../modules/stored-modules.ts'

/** Bytes of a body beside its module. */
const otherBytes = 1024 * 1024
/** Largest bodies that are held at a time, in all and of one user. */
const largeBodies = { inAll: 8, perUser: 4 }
/** A body of at most this many bytes is small. */
const smallBytes = 64 * 1024
/** Small bodies that are held at a time. They have bounds of their own, so that they never keep large ones out. */
const smallBodies = { inAll: 1024, perUser: 256 }

/** Options of routes whose bodies bring a module along. */
export interface ModuleUploads {
  /** Bytes of a body. */
  readonly bodyLimit: number
  /** Refuses bodies that would take too much memory together with the others. */
  readonly onRequest: (request: FastifyRequest, reply: FastifyReply) => Promise<void>
}

/** @param moduleBytes bytes of the largest module */
export function createModuleUploads(moduleBytes: number): ModuleUploads {
  const bodyLimit = 4 * Math.ceil(moduleBytes / 3) + otherBytes
  const large = new UploadBudget(largeBodies.inAll * bodyLimit, largeBodies.perUser * bodyLimit)
  const small = new UploadBudget(smallBodies.inAll * smallBytes, smallBodies.perUser * smallBytes)
  return {
    bodyLimit,
    async onRequest(request, reply) {
      const { 'content-length': length, 'transfer-encoding': chunked } = request.headers
      // The length of a body in chunks is unknown. Fastify refuses bodies that are longer than the limit.
      const bytes = chunked === undefined ? Math.min(Number(length ?? 0), bodyLimit) : bodyLimit
      const budget = bytes <= smallBytes ? small : large
      const giveBack = budget.take(userOf(request).uuid, bytes)
      const over = clientSignal(reply)
      if (over.aborted) giveBack()
      else over.addEventListener('abort', giveBack, { once: true })
    },
  }
}

/**
 * Reads a module that a request brings along, from padded base64 without line breaks.
 *
 * @param mostBytes bytes that the module may have
 * @throws NodekeepError VALIDATION_ERROR, PAYLOAD_TOO_LARGE
 */
export function uploadedModule(text: string, mostBytes: number): WasmModule {
  const bytes = Buffer.from(text, 'base64')
  // Node skips characters that are not base64. Written back, a text that had any is another one.
  if (bytes.toString('base64') !== text) {
    throw new NodekeepError(
      'VALIDATION_ERROR',
      '"wasmBytes" is not valid base64. It must be padded, and have no line breaks.',
    )
  }
  if (bytes.length > mostBytes) throw moduleTooLarge(mostBytes, bytes.length)
  return { hash: hash('sha256', bytes), size: bytes.length, bytes: async () => bytes }
}

/**
 * Bounds the bytes of requests that bring a module along, since each is held in memory while it arrives, waits and runs.
 * A user never has more of them than are left free, so two users who take all they may leave room for a third.
 */
class UploadBudget {
  readonly #most: number
  readonly #mostPerUser: number
  readonly #taken = new Map<string, number>()
  #total = 0

  /** Both in bytes. */
  constructor(most: number, mostPerUser: number) {
    this.#most = most
    this.#mostPerUser = mostPerUser
  }

  /**
   * Takes bytes.
   *
   * @returns gives them back; to be called once
   * @throws NodekeepError TOO_MANY_REQUESTS
   */
  take(user: string, bytes: number): () => void {
    const mine = this.#taken.get(user) ?? 0
    if (mine + bytes > Math.min(this.#mostPerUser, this.#most - this.#total)) throw tooManyUploads()
    this.#add(user, bytes)
    return () => this.#add(user, -bytes)
  }

  #add(user: string, bytes: number): void {
    const mine = (this.#taken.get(user) ?? 0) + bytes
    this.#total += bytes
    if (mine === 0) this.#taken.delete(user)
    else this.#taken.set(user, mine)
  }
}

function tooManyUploads(): NodekeepError {
  return new NodekeepError(
    'TOO_MANY_REQUESTS',
    'Too many modules are being uploaded at this moment. Try again in a moment, or store them as files.',
    { headers: { 'retry-after': '1' } },
  )
}
