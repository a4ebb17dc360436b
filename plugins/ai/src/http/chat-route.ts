import { type AiChatService, type ChatQuery, NodekeepError, type RoutesApp } from '@nodekeep/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { chatAnswer, chatBody } from './chat-schema.ts'
import { EventStream } from './event-stream.ts'
import { Presence } from './presence.ts'
import { shownError } from './shown-error.ts'
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
      schema: { summary: 'Chat with a model', body: chatBody, response: { 200: chatAnswer } },
    },
    async (request, reply) => {
      const { stream = false, ...query } = request.body
      const presence = new Presence(request)
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
  readonly presence: Presence
  readonly heartbeatMs: number
}

async function streamed(chats: AiChatService, query: ChatQuery, to: Streaming): Promise<FastifyReply> {
  const { request, reply, presence, heartbeatMs } = to
  const { signal } = presence
  const stream = new EventStream(reply, heartbeatMs)
  try {
    const { deltas } = await chats.start(userOf(request), query, signal)
    for await (const delta of deltas) {
      if (delta.type === 'text' && !stream.send(delta.text)) await stream.drained(signal)
    }
    stream.end()
  } catch (error) {
    stream.close()
    if (!stream.began) throw error
    if (signal.aborted) request.log.debug('The client left before the reply ended.')
    else stream.fail(shownError(error, request))
  }
  return reply
}

function userOf({ user }: FastifyRequest): string {
  if (user === null) throw new NodekeepError('UNAUTHORIZED', 'Sign in first.')
  return user.uuid
}
