import { type AiCapabilities, type AiProvider, type ChatRequest, NodekeepError } from '@nodekeep/plugin-sdk'
import { isDeep, isDeepText, mostLevels } from './nesting.ts'

/** What a request needs beyond text that the provider cannot do, in words; `null` when it can do everything. */
export function lackingCapability(request: ChatRequest, provider: AiProvider): string | null {
  const supports = capabilitiesOf(provider)
  if (supports?.tools !== true && needsTools(request)) return 'tools'
  if (supports?.images !== true && needsImages(request)) return 'images'
  if (supports?.json !== true && request.json !== undefined) return 'replies in JSON'
  if (hasDeepSchema(request)) return `a JSON Schema of more than ${mostLevels} levels`
  if (hasDeepArguments(request)) return `arguments of a tool call with more than ${mostLevels} levels`
  return null
}

/** What a provider says that it can do; nothing, where it throws instead. */
function capabilitiesOf(provider: AiProvider): AiCapabilities | undefined {
  try {
    return provider.supports
  } catch {
    return undefined
  }
}

/** @throws NodekeepError VALIDATION_ERROR for an image that the provider would have to fetch from somewhere */
export function refuseAddresses({ messages }: ChatRequest): void {
  for (const { content } of messages) {
    if (typeof content === 'string') continue
    for (const part of content) {
      if (part.type === 'image' && !/^data:/i.test(part.url)) {
        throw new NodekeepError(
          'VALIDATION_ERROR',
          'Give images as "data:" URLs: the node fetches nothing for a chat.',
        )
      }
    }
  }
}

function needsTools({ messages, tools, toolChoice, parallelToolCalls }: ChatRequest): boolean {
  return (
    tools !== undefined ||
    toolChoice !== undefined ||
    parallelToolCalls !== undefined ||
    messages.some((message) => message.role === 'tool' || (message.role === 'assistant' && message.toolCalls))
  )
}

function needsImages({ messages }: ChatRequest): boolean {
  return messages.some(
    ({ content }) => typeof content !== 'string' && content.some((part) => part.type === 'image'),
  )
}

function hasDeepSchema({ tools = [], json }: ChatRequest): boolean {
  return tools.some(({ parameters }) => isDeep(parameters)) || isDeep(json?.schema)
}

function hasDeepArguments({ messages }: ChatRequest): boolean {
  return messages.some(
    (message) =>
      message.role === 'assistant' && message.toolCalls?.some(({ arguments: text }) => isDeepText(text)),
  )
}
