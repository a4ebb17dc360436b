import {
  type AiChatService,
  type ChatReply,
  clientSignal,
  EventStream,
  isNodekeepError,
  NodekeepError,
  type ReplyDelta,
  type RoutesApp,
  userOf,
} from '@nodekeep/plugin-sdk'
import type { FastifyRequest } from 'fastify'
import { Chunks, chatAnswer, completion } from '../answers/completion.ts'
import { errorJson } from '../answers/error.ts'
import { type ChatRequestBody, chatRequest } from '../wire/chat-body.ts'
import { readQuery } from '../wire/chat-query.ts'
import { resolveModel } from '../wire/model-name.ts'

interface ChatCompletionsOptions {
  readonly chats: AiChatService
  readonly defaultProvider: string | null
  readonly maxBodyBytes: number
  readonly heartbeatMs: number
}

/** Registers `POST /chat/completions` ("Chat" of OpenAI's API reference). */
export function chatCompletionsRoute(app: RoutesApp, options: ChatCompletionsOptions): void {
  const { chats, defaultProvider, maxBodyBytes, heartbeatMs } = options
  const start = async (user: string, body: ChatRequestBody, signal: AbortSignal): Promise<ChatReply> => {
    const model = await resolveModel(body.model, chats, defaultProvider)
    const reply = await chats.start(user, readQuery(body, model), signal).catch((error) => {
      throw withoutRetries(error)
    })
    return body.parallel_tool_calls === false ? withOneCall(reply) : reply
  }
  app.post(
    '/chat/completions',
    {
      bodyLimit: maxBodyBytes,
      config: { scope: 'ai' },
      schema: {
        operationId: 'createChatCompletion',
        summary: "Chat with a model, in OpenAI's protocol",
        body: chatRequest,
        response: { 200: chatAnswer },
      },
    },
    async (request, reply) => {
      const { body } = request
      const signal = clientSignal(reply)
      const begin = () => start(userOf(request).uuid, body, signal)
      if (body.stream !== true) {
        const answer = await completion(await begin())
        return reply.type('application/json; charset=utf-8').send(answer)
      }
      const stream = new EventStream(reply, heartbeatMs)
      const withUsage = body.stream_options?.include_usage === true
      await streamed(begin, { request, stream, withUsage, signal })
      return reply
    },
  )
}

interface Streaming {
  readonly request: FastifyRequest
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
    const failure = stream.failed(error, request, signal)
    if (failure === null) return
    // For clients of this protocol, an event with an error is the end.
    stream.send(errorJson(failure))
    stream.end()
  }
}

/**
 * Tells OpenAI's clients not to repeat a call that has no hope, or that the node itself has repeated. They would repeat it
 * twice by default, and wait each time. An account without credit has the status that it has with OpenAI.
 */
function withoutRetries(error: unknown): unknown {
  if (!isNodekeepError(error) || !error.permanent) return error
  const { message, cause, permanent, logged, reason } = error
  return new NodekeepError(reason === 'insufficient_quota' ? 'TOO_MANY_REQUESTS' : error.code, message, {
    cause,
    permanent,
    logged,
    headers: { ...error.headers, 'x-should-retry': 'false' },
    ...(reason !== null && { reason }),
  })
}

/**
 * Returns the reply with its first tool call only, for `parallel_tool_calls: false`: not every provider can request that of
 * its server. The model repeats the other calls when it has the result of the first.
 */
function withOneCall(reply: ChatReply): ChatReply {
  return { ...reply, deltas: oneCall(reply.deltas) }
}

async function* oneCall(deltas: AsyncIterable<ReplyDelta>): AsyncGenerator<ReplyDelta> {
  let first: number | undefined
  for await (const delta of deltas) {
    if (delta.type !== 'tool_call') yield delta
    else {
      first ??= delta.index
      // Clients store calls in an array, up to the highest index.
      if (delta.index === first) yield { ...delta, index: 0 }
    }
  }
}
