import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from './caller.ts'
import { connectionSignal } from './connection-signal.ts'
import { UploadBudget } from './upload-budget.ts'

/** What a body with a module may have beside the module, in bytes. */
const roomForRest = 1024 * 1024

/** So many of the largest bodies are held at a time, in all and of one user. */
const bodies = { inAll: 8, perUser: 4 }

/** A body of at most so many bytes is a small one. */
const smallBytes = 64 * 1024

/** So many small ones are held beside the others, which so never keep them out. */
const smallBodies = { inAll: 1024, perUser: 256 }

/** What routes need whose bodies bring a module along. */
export interface ModuleUploads {
  /** Bytes of a body. */
  readonly bodyLimit: number
  /** Refuses bodies that would take too much memory together with the others. */
  readonly onRequest: (request: FastifyRequest, reply: FastifyReply) => Promise<void>
}

/** @param moduleBytes bytes of the largest module */
export function createModuleUploads(moduleBytes: number): ModuleUploads {
  const bodyLimit = 4 * Math.ceil(moduleBytes / 3) + roomForRest
  const large = new UploadBudget(bodies.inAll * bodyLimit, bodies.perUser * bodyLimit)
  const small = new UploadBudget(smallBodies.inAll * smallBytes, smallBodies.perUser * smallBytes)
  return {
    bodyLimit,
    async onRequest(request, { raw: response }) {
      const { 'content-length': length, 'transfer-encoding': chunked } = request.headers
      // Nobody knows the length of what comes in chunks; and what is too long is refused by Fastify.
      const bytes = chunked === undefined ? Math.min(Number(length ?? 0), bodyLimit) : bodyLimit
      const budget = bytes <= smallBytes ? small : large
      const giveBack = budget.take(callerOf(request).uuid, bytes)
      const signal = connectionSignal(request)
      // Of an answer that waits behind another one on its connection, only the connection's end is heard.
      const end = () => {
        response.off('close', end)
        signal.removeEventListener('abort', end)
        giveBack()
      }
      response.once('close', end)
      signal.addEventListener('abort', end)
    },
  }
}
