import type { ChatRequest, ChatTool } from '@nodekeep/plugin-sdk'
import type { ChatRequest as OllamaRequest, Options, Tool } from 'ollama/browser'
import { conversation } from './messages.ts'

/**
 * The body of `POST /api/chat` (Ollama's API reference, "Generate a chat message").
 *
 * @throws NodekeepError VALIDATION_ERROR for content that the protocol cannot express
 */
export function chatParameters(request: ChatRequest): OllamaRequest & { stream: true } {
  const { model, messages, json, reasoningEffort } = request
  const tools = offeredTools(request)
  const options = sampling(request)
  // Models refuse levels of thinking that they do not have. All of them accept `false`.
  const noThinking = reasoningEffort === 'none' || reasoningEffort === 'minimal'
  return {
    model,
    messages: conversation(messages),
    stream: true,
    ...(tools.length > 0 && { tools: tools.map(tool) }),
    ...(Object.keys(options).length > 0 && { options }),
    ...(json && { format: json.schema ?? 'json' }),
    ...(noThinking && { think: false }),
  }
}

/** Ollama has no tool choice, so the list of tools is limited to those that may be called. */
function offeredTools({ tools = [], toolChoice }: ChatRequest): readonly ChatTool[] {
  if (toolChoice === 'none') return []
  return typeof toolChoice === 'object' ? tools.filter(({ name }) => name === toolChoice.name) : tools
}

function tool({ name, description, parameters }: ChatTool): Tool {
  return {
    type: 'function',
    function: { name, ...(description !== undefined && { description }), parameters: { ...parameters } },
  }
}

function sampling(request: ChatRequest): Partial<Options> {
  const { maxTokens, temperature, topP, frequencyPenalty, presencePenalty, seed, stop } = request
  return {
    ...(maxTokens !== undefined && { num_predict: maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(frequencyPenalty !== undefined && { frequency_penalty: frequencyPenalty }),
    ...(presencePenalty !== undefined && { presence_penalty: presencePenalty }),
    ...(seed !== undefined && { seed }),
    ...(stop?.length && { stop: [...stop] }),
  }
}
