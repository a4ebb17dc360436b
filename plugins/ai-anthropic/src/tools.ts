import type Anthropic from '@anthropic-ai/sdk'
import type { ChatRequest, ChatTool, ChatToolChoice } from '@nodekeep/plugin-sdk'
import { closedSchema } from './closed-schema.ts'

/**
 * The tools of a request and which of them the model has to call; nothing where there are none.
 *
 * @throws NodekeepError VALIDATION_ERROR for a strict tool with a schema that the API cannot take
 */
export async function toolParams({
  tools = [],
  toolChoice = 'auto',
  parallelToolCalls = true,
}: ChatRequest): Promise<Pick<Anthropic.MessageCreateParams, 'tools' | 'tool_choice'>> {
  if (tools.length === 0) return {}
  return {
    tools: await Promise.all(tools.map(toolParam)),
    tool_choice: choiceParam(toolChoice, parallelToolCalls),
  }
}

async function toolParam({
  name,
  description,
  parameters,
  strict = false,
}: ChatTool): Promise<Anthropic.Tool> {
  const schema = strict ? await closedSchema(parameters) : parameters
  return {
    name,
    input_schema: { ...schema, type: 'object' },
    ...(description !== undefined && { description }),
    ...(strict && { strict }),
  }
}

function choiceParam(choice: ChatToolChoice, parallel: boolean): Anthropic.ToolChoice {
  if (choice === 'none') return { type: 'none' }
  const single = parallel ? {} : { disable_parallel_tool_use: true }
  if (typeof choice === 'object') return { type: 'tool', name: choice.name, ...single }
  return { type: choice === 'required' ? 'any' : 'auto', ...single }
}
