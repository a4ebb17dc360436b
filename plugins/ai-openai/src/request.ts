import type { ChatMessage, ChatPart, ChatRequest, ChatToolChoice } from '@nodekeep/plugin-sdk'
import type {
  ChatCompletionContentPart,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions'

type Parameters = ChatCompletionCreateParamsStreaming

/** OpenAI's newer models refuse `max_tokens`. Many other servers support nothing else. */
export type TokenLimitField = 'max_tokens' | 'max_completion_tokens'

/** The body of `POST /chat/completions` (OpenAI's API reference, "Create chat completion"). */
export function chatParameters(request: ChatRequest, tokenLimitField: TokenLimitField): Parameters {
  const { model, messages, maxTokens, json } = request
  return {
    model,
    messages: messages.map(messageOf),
    stream: true,
    ...(maxTokens === undefined ? {} : { [tokenLimitField]: maxTokens }),
    ...tuningOf(request),
    ...toolsOf(request),
    ...(json === undefined ? {} : { response_format: formatOf(json) }),
  }
}

function tuningOf(request: ChatRequest): Partial<Parameters> {
  const { temperature, topP, frequencyPenalty, presencePenalty, seed, reasoningEffort, stop = [] } = request
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(frequencyPenalty === undefined ? {} : { frequency_penalty: frequencyPenalty }),
    ...(presencePenalty === undefined ? {} : { presence_penalty: presencePenalty }),
    ...(seed === undefined ? {} : { seed }),
    ...(reasoningEffort === undefined ? {} : { reasoning_effort: reasoningEffort }),
    ...(stop.length === 0 ? {} : { stop: [...stop] }),
  }
}

function toolsOf({ tools = [], toolChoice, parallelToolCalls }: ChatRequest): Partial<Parameters> {
  const choice = toolChoice === undefined ? {} : { tool_choice: choiceOf(toolChoice) }
  if (tools.length === 0) return choice
  return {
    tools: tools.map((tool) => ({ type: 'function', function: { ...tool } }) as const),
    ...choice,
    ...(parallelToolCalls === undefined ? {} : { parallel_tool_calls: parallelToolCalls }),
  }
}

function messageOf(message: ChatMessage): ChatCompletionMessageParam {
  switch (message.role) {
    case 'tool':
      return { role: 'tool', tool_call_id: message.toolCallId, content: message.content }
    case 'assistant': {
      const { content, toolCalls = [] } = message
      if (toolCalls.length === 0) return { role: 'assistant', content }
      const calls = toolCalls.map(
        ({ id, name, arguments: text }) =>
          ({ id, type: 'function', function: { name, arguments: text } }) as const,
      )
      return { role: 'assistant', content: content === '' ? null : content, tool_calls: calls }
    }
    default: {
      const { role, content } = message
      const parts = typeof content === 'string' ? content : content.map(partOf)
      // The SDK's type allows only text in system messages. A server that takes no images there refuses them itself.
      return { role, content: parts } as ChatCompletionMessageParam
    }
  }
}

function partOf(part: ChatPart): ChatCompletionContentPart {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const { url, detail } = part
  return { type: 'image_url', image_url: { url, ...(detail === undefined ? {} : { detail }) } }
}

function choiceOf(choice: ChatToolChoice): NonNullable<Parameters['tool_choice']> {
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } }
}

function formatOf(json: NonNullable<ChatRequest['json']>): NonNullable<Parameters['response_format']> {
  const { schema, name = 'reply', ...rest } = json
  if (schema === undefined) return { type: 'json_object' }
  return { type: 'json_schema', json_schema: { name, ...rest, schema: { ...schema } } }
}
