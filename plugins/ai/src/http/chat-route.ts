import {
  type AiChatService,
  type ChatQuery,
  ClientPresence,
  EventStream,
  errorBodyOf,
  errorStatus,
  isNodekeepError,
  NodekeepError,
  type RoutesApp,
} from '@nodekeep/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { chatAnswer, chatBody } from './chat-schema.ts'
import { wholeReply } from './whole-reply.ts'

export interface ChatRouteParts {
  readonly chats: AiChatService
  readonly maxBodyBytes: number
  readonly heartbeatMs: number
}

/** Registers `POST /api/ai/chat` (interface, "AI endpoints"). */
export function chatRoute(app: RoutesApp, { chats, maxBodyBytes, heartbeatMs }: ChatRouteParts): void {
  app.post(
    '/api/ai/chat',
    {
      bodyLimit: maxBodyBytes,
      config: { scope: 'ai' },
      schema: {
        summary: 'Chat with a model',
        description:
          'With "stream": true the answer is text/event-stream: data lines with {"chunk": …}, and [DONE] last.',
        body: chatBody,
        response: { 200: chatAnswer },
      },
    },
    async (request, reply) => {
      const { stream = false, ...query } = request.body
      const presence = new ClientPresence(request, reply)
      try {
        if (stream) return await streamed(chats, query, { request, reply, presence, heartbeatMs })
        return await wholeReply(await chats.start(userOf(request), query, presence.signal))
      } finally {
        presence.release()
      }
    },
  )
}

interface Streaming {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly presence: ClientPresence
  readonly heartbeatMs: number
}

/** Each event is a line with JSON; the last one says `[DONE]`, also after an error. */
async function streamed(chats: AiChatService, query: ChatQuery, to: Streaming): Promise<FastifyReply> {
  const { request, reply, presence, heartbeatMs } = to
  const { signal } = presence
  const stream = new EventStream(reply, heartbeatMs)
  try {
    const { deltas } = await chats.start(userOf(request), query, signal)
    for await (const delta of deltas) {
      if (delta.type !== 'text') continue
      if (!stream.send(`{"chunk":${JSON.stringify(delta.text)}}`)) await stream.drained(signal)
    }
  } catch (error) {
    if (!stream.began || signal.aborted) stream.close()
    if (!stream.began) throw error
    if (signal.aborted) {
      request.log.debug('The client left before the reply ended.')
      return reply
    }
    stream.send(errorEvent(error, request))
  }
  stream.send('[DONE]')
  stream.end()
  return reply
}

/** An error as a client may see it within an answer that has begun. What is not the client's fault is logged. */
function errorEvent(error: unknown, { id, log }: FastifyRequest): string {
  const { message, code } = errorBodyOf(error, id)
  const isKnown = isNodekeepError(error) && error.logged
  if (errorStatus[code] >= 500 && !isKnown) log.error({ err: error, path: '/api/ai/chat' }, message)
  return JSON.stringify({ chunk: '', error: true, message, code })
}

function userOf({ user }: FastifyRequest): string {
  if (user === null) throw new NodekeepError('UNAUTHORIZED', 'Sign in first.')
  return user.uuid
}
