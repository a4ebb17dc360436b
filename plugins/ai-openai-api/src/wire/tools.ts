import { type ChatQuery, type ChatTool, type ChatToolChoice, NodekeepError } from '@nodekeep/plugin-sdk'
import type { ChatRequestBody, WireTool } from './chat-body.ts'

/**
 * Reads which tools there are, and whether the model has to call them. Without tools, some clients send what says nothing
 * then with every request.
 *
 * @throws NodekeepError VALIDATION_ERROR for a call that there is no tool for
 */
export function readTools(
  body: ChatRequestBody,
): Pick<ChatQuery, 'tools' | 'toolChoice' | 'parallelToolCalls'> {
  const { tool_choice, parallel_tool_calls: parallelToolCalls } = body
  const tools = (body.tools ?? []).map(readTool)
  const toolChoice = tool_choice == null ? undefined : readToolChoice(tool_choice)
  refuseImpossible(toolChoice, tools)
  if (tools.length === 0) return {}
  return {
    tools,
    ...(toolChoice === undefined ? {} : { toolChoice }),
    ...(parallelToolCalls == null ? {} : { parallelToolCalls }),
  }
}

function readTool({ function: { name, description, parameters, strict } }: WireTool): ChatTool {
  return {
    name,
    parameters: parameters ?? { type: 'object', properties: {} },
    ...(description == null ? {} : { description }),
    ...(strict == null ? {} : { strict }),
  }
}

function readToolChoice(choice: NonNullable<ChatRequestBody['tool_choice']>): ChatToolChoice {
  if (typeof choice !== 'string' && choice.function !== undefined) return { name: choice.function.name }
  if (choice === 'none' || choice === 'auto' || choice === 'required') return choice
  throw wrong('must be "none", "auto", "required" or name a function')
}

function refuseImpossible(choice: ChatToolChoice | undefined, tools: readonly ChatTool[]): void {
  if (choice === 'required' && tools.length === 0) throw wrong('is "required", but there are no "tools"')
  if (typeof choice !== 'object' || tools.some(({ name }) => name === choice.name)) return
  throw wrong(`names "${choice.name}", which is none of the "tools"`)
}

function wrong(what: string): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', `Invalid input: "tool_choice" ${what}.`)
}
