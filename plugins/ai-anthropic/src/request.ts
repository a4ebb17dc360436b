import type Anthropic from '@anthropic-ai/sdk'
import type { ChatRequest, ChatTool, ChatToolChoice } from '@nodekeep/plugin-sdk'
import { conversation } from './messages.ts'
import { outputFormat } from './output-format.ts'

/**
 * The longest reply when a request doesn't say, in tokens: the API wants a number. Thinking counts, too; every model of
 * the API's current version can write more than this.
 */
export const DEFAULT_MAX_TOKENS = 16384

/**
 * A request in the words of the Messages API (version 2026-10-21). `temperature` and `topP` are left out: since that
 * version the API refuses them whatever their value.
 *
 * @throws NodekeepError VALIDATION_ERROR for what the API has no words for
 */
export async function messageParams(request: ChatRequest): Promise<Anthropic.MessageCreateParamsStreaming> {
  const { model, maxTokens = DEFAULT_MAX_TOKENS, stop, tools, toolChoice = 'auto', json } = request
  const { system, messages } = conversation(request.messages)
  return {
    model,
    max_tokens: maxTokens,
    messages,
    stream: true,
    ...(system.length > 0 && { system }),
    ...(stop?.length && { stop_sequences: [...stop] }),
    ...(tools?.length && { tools: tools.map(toolParam), tool_choice: toolChoiceParam(toolChoice) }),
    ...(json && { output_config: { format: await outputFormat(json.schema) } }),
  }
}

function toolParam({ name, description, parameters }: ChatTool): Anthropic.Tool {
  const input_schema: Anthropic.Tool.InputSchema = { ...parameters, type: 'object' }
  return { name, input_schema, ...(description !== undefined && { description }) }
}

function toolChoiceParam(choice: ChatToolChoice): Anthropic.ToolChoice {
  if (typeof choice === 'object') return { type: 'tool', name: choice.name }
  return { type: choice === 'required' ? 'any' : choice }
}
