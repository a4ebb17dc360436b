import { type AiProvider, type ChatRequest, NodekeepError } from '@nodekeep/plugin-sdk'

/** Returns a capability that the request needs and the provider lacks, in words, or `null` if it lacks none. */
export function lackingCapability(request: ChatRequest, provider: AiProvider): string | null {
  const { supports } = provider
  if (supports?.tools !== true && needsTools(request)) return 'tools'
  if (supports?.images !== true && needsImages(request)) return 'images'
  if (supports?.json !== true && request.json !== undefined) return 'replies in JSON'
  if (hasDeepSchema(request)) return `a JSON Schema of more than ${mostLevels} levels`
  if (hasDeepArguments(request)) return `arguments of a tool call with more than ${mostLevels} levels`
  return null
}

/** @throws NodekeepError VALIDATION_ERROR for an image that the provider would have to fetch from an address */
export function refuseAddresses({ messages }: ChatRequest): void {
  for (const { content } of messages) {
    if (typeof content === 'string') continue
    for (const part of content) {
      if (part.type === 'image' && !/^data:/i.test(part.url)) {
        throw new NodekeepError(
          'VALIDATION_ERROR',
          'Send images as "data:" URLs. The node fetches nothing for a chat.',
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

/** Levels of JSON in a request. Code that reads or writes JSON recursively would run out of stack with far more. */
const mostLevels = 100

/** Tells whether a parsed JSON value has more levels. */
function isDeep(value: unknown): boolean {
  let level = isNest(value) ? [value] : []
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > mostLevels) return true
    const below: object[] = []
    for (const nest of level) {
      for (const inner of Object.values(nest)) if (isNest(inner)) below.push(inner)
    }
    level = below
  }
  return false
}

/** Tells whether a text of JSON has more levels, without parsing it. */
function isDeepText(text: string): boolean {
  let depth = 0
  let quoted = false
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]
    if (character === '"') quoted = !quoted
    else if (character === '\\') at += 1
    else if (quoted) continue
    else if (character === '{' || character === '[') depth += 1
    else if (character === '}' || character === ']') depth -= 1
    if (depth > mostLevels) return true
  }
  return false
}

function isNest(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
