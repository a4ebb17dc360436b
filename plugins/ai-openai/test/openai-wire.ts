import type { ChatMessage, ChatPart, ChatToolChoice } from '@nodekeep/plugin-sdk'
import type { ModelScene, ReceivedChat } from '@nodekeep/plugin-sdk/conformance/ai'
import type {
  ChatCompletionCreateParams,
  ChatCompletionMessageParam,
  ChatCompletionToolChoiceOption,
} from 'openai/resources/chat/completions'

type Reply = Extract<ModelScene, { kind: 'reply' }>

/** Translates a request into the types of the contract. */
export function received(body: ChatCompletionCreateParams): ReceivedChat {
  const maxTokens = body.max_tokens ?? body.max_completion_tokens
  const { tools, tool_choice: choice, response_format: format } = body
  return {
    model: body.model,
    messages: body.messages.map(messageOf),
    ...(maxTokens ? { maxTokens } : {}),
    ...(typeof body.temperature === 'number' ? { temperature: body.temperature } : {}),
    ...(typeof body.top_p === 'number' ? { topP: body.top_p } : {}),
    ...(typeof body.frequency_penalty === 'number' ? { frequencyPenalty: body.frequency_penalty } : {}),
    ...(typeof body.presence_penalty === 'number' ? { presencePenalty: body.presence_penalty } : {}),
    ...(typeof body.seed === 'number' ? { seed: body.seed } : {}),
    ...(body.reasoning_effort ? { reasoningEffort: body.reasoning_effort } : {}),
    ...(Array.isArray(body.stop) ? { stop: body.stop } : {}),
    ...(tools ? { tools: tools.map((tool) => ('function' in tool ? tool.function : tool) as never) } : {}),
    ...(choice ? { toolChoice: choiceOf(choice) } : {}),
    ...(body.parallel_tool_calls === undefined ? {} : { parallelToolCalls: body.parallel_tool_calls }),
    ...(format?.type === 'json_object' ? { json: {} } : {}),
    ...(format?.type === 'json_schema'
      ? { json: format.json_schema as NonNullable<ReceivedChat['json']> }
      : {}),
  }
}

function messageOf(message: ChatCompletionMessageParam): ChatMessage {
  switch (message.role) {
    case 'tool':
      return { role: 'tool', toolCallId: message.tool_call_id, content: String(message.content) }
    case 'assistant': {
      const calls = (message.tool_calls ?? []).flatMap((call) =>
        call.type === 'function' ? [{ id: call.id, ...call.function }] : [],
      )
      return { role: 'assistant', content: String(message.content ?? ''), toolCalls: calls }
    }
    case 'system':
    case 'user':
      return { role: message.role, content: partsOf(message.content) }
  }
  throw new Error(`The role ${message.role} is none of the contract.`)
}

function partsOf(content: Extract<ChatCompletionMessageParam, { role: 'user' }>['content']): ChatPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return content.flatMap((part): ChatPart[] => {
    if (part.type === 'text') return [part]
    return part.type === 'image_url' ? [{ type: 'image', url: part.image_url.url }] : []
  })
}

function choiceOf(choice: ChatCompletionToolChoiceOption): ChatToolChoice {
  if (typeof choice === 'string') return choice
  return { name: choice.type === 'function' ? choice.function.name : '' }
}

/** Returns a chunk of a reply as a server-sent event. */
export function chunk(choices: readonly object[], rest: object = {}): string {
  const head = { id: 'chatcmpl-7', object: 'chat.completion.chunk', created: 1762000000, model: 'm' }
  return event({ ...head, choices, ...rest })
}

export function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`
}

export function delta(delta: object, finish_reason: string | null = null): string {
  return chunk([{ index: 0, delta, logprobs: null, finish_reason }], { usage: null })
}

export const done = 'data: [DONE]\n\n'

/** Returns the events of a reply as OpenAI sends them, and its thoughts as other servers send them. */
export function* replyEvents({
  thoughts = [],
  text,
  toolCalls = [],
  usage,
  finish,
  reason = finish,
}: Reply): Generator<string> {
  yield delta({ role: 'assistant', content: '', refusal: null })
  for (const reasoning_content of thoughts) yield delta({ reasoning_content })
  for (const content of text) yield delta({ content })
  for (const [index, { id, name, arguments: args }] of toolCalls.entries()) {
    yield delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] })
    // A piece may end in the middle of a character, as tokens do.
    const half = args.length >> 1
    for (const part of [args.slice(0, half), args.slice(half)]) {
      yield delta({ tool_calls: [{ index, function: { arguments: part } }] })
    }
  }
  yield delta({}, reason)
  if (usage !== undefined) {
    const { inputTokens, outputTokens } = usage
    const counted = { prompt_tokens: inputTokens, completion_tokens: outputTokens }
    yield chunk([], { usage: { ...counted, total_tokens: inputTokens + outputTokens } })
  }
  yield done
}
