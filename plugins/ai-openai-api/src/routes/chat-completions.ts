import {
  type AiChatService,
  type ChatReply,
  ClientPresence,
  EventStream,
  errorBodyOf,
  errorStatus,
  isNodekeepError,
  NodekeepError,
  type ReplyDelta,
  type RoutesApp,
} from '@nodekeep/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Chunks } from '../answers/chunks.ts'
import { completion } from '../answers/completion.ts'
import { errorText } from '../answers/error.ts'
import { withOneCall } from '../answers/one-call.ts'
import type { ChatRequestBody } from '../wire/chat-body.ts'
import { readQuery } from '../wire/chat-query.ts'
import { chatRequest } from '../wire/chat-request.ts'
import { resolveModel } from '../wire/model-name.ts'

export interface ChatCompletionsParts {
  readonly chats: AiChatService
  readonly defaultProvider: string | null
  readonly maxBodyBytes: number
  readonly heartbeatMs: number
}

/** Registers `POST /chat/completions` ("Chat" of OpenAI's API reference). */
export function chatCompletionsRoute(app: RoutesApp, parts: ChatCompletionsParts): void {
  const { chats, defaultProvider, maxBodyBytes, heartbeatMs } = parts
  const start = async (user: string, body: ChatRequestBody, signal: AbortSignal): Promise<ChatReply> => {
    const model = await resolveModel(body.model, chats, defaultProvider)
    const reply = await chats.start(user, readQuery(body, model), signal)
    return body.parallel_tool_calls === false ? withOneCall(reply) : reply
  }
  app.post(
    '/chat/completions',
    {
      bodyLimit: maxBodyBytes,
      config: { scope: 'ai' },
      schema: { summary: "Chat with a model, in OpenAI's protocol", body: chatRequest },
    },
    async (request, reply) => {
      const { body, user } = request
      if (user === null) throw new NodekeepError('UNAUTHORIZED', 'Sign in first.')
      const presence = new ClientPresence(request, reply)
      try {
        if (body.stream !== true) {
          const answer = await completion(await start(user.uuid, body, presence.signal))
          return await reply.type('application/json; charset=utf-8').send(answer)
        }
        const stream = new EventStream(reply, heartbeatMs)
        const begin = () => start(user.uuid, body, presence.signal)
        const withUsage = body.stream_options?.include_usage === true
        await streamed(begin, { request, reply, stream, withUsage, signal: presence.signal })
        return reply
      } finally {
        presence.release()
      }
    },
  )
}

interface Streaming {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly stream: EventStream
  readonly withUsage: boolean
  readonly signal: AbortSignal
}

async function streamed(begin: () => Promise<ChatReply>, to: Streaming): Promise<void> {
  const { request, stream, withUsage, signal } = to
  try {
    const chat = await begin()
    const chunks = new Chunks(chat, withUsage)
    let usage: (ReplyDelta & { type: 'usage' }) | null = null
    stream.send(chunks.first())
    for await (const delta of chat.deltas) {
      if (delta.type === 'usage') usage = delta
      const chunk = chunks.of(delta)
      if (chunk !== null && !stream.send(chunk)) await stream.drained(signal)
    }
    const last = chunks.usage(usage)
    if (last !== null) stream.send(last)
    stream.send('[DONE]')
    stream.end()
  } catch (error) {
    if (!stream.began) {
      stream.close()
      throw error
    }
    if (signal.aborted) {
      stream.close()
      request.log.debug('The client left before the reply ended.')
      return
    }
    const body = errorBodyOf(error, request.id)
    const isKnown = isNodekeepError(error) && error.logged
    if (errorStatus[body.code] >= 500 && !isKnown) request.log.error({ err: error }, body.message)
    // Clients of this protocol take an event with an error for the end.
    stream.send(errorText(body))
    stream.end()
  }
}
