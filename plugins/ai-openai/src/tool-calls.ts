import type { ChatDelta } from '@nodekeep/plugin-sdk'
import type { ChatCompletionChunk } from 'openai/resources/chat/completions'

type CallPiece = Partial<ChatCompletionChunk.Choice.Delta.ToolCall>
type ToolCallDelta = Extract<ChatDelta, { type: 'tool_call' }>

/** The limit of the contract. */
const maxCalls = 1000

interface Call {
  readonly index: number | undefined
  /** The id that the server sent. It is empty if the server sent none. */
  readonly id: string
  readonly name: string
  readonly arguments: ObjectText
}

/**
 * Assigns the pieces of tool calls to their calls. In OpenAI's form, a call has an index, and its first piece has id and
 * name. Other servers leave out the index or the id, use index 0 for all calls, repeat id and name, or change the id in
 * the middle of a call. Then the arguments tell the calls apart: they are JSON objects.
 */
export class ToolCalls {
  readonly #calls: Call[] = []
  readonly #ids = new Set<string>()

  /** The number of calls that have begun. */
  get count(): number {
    return this.#calls.length
  }

  /** @throws Error if a call has no name or a second object of arguments, or there are too many calls */
  read({ index: sentIndex, id: sentId, function: called = {} }: CallPiece): ToolCallDelta {
    const { name: sentName, arguments: sent } = called
    const index = sentIndex ?? undefined
    const id = sentId || ''
    const name = typeof sentName === 'string' ? sentName : ''
    const text = !sent ? '' : typeof sent === 'string' ? sent : JSON.stringify(sent)
    const at = this.#find(index, id, name, text)
    const call = this.#calls[at]
    if (call === undefined) return this.#begin(index, id, name, text)
    if (call.arguments.isComplete && beginsObject(text)) {
      throw new Error('A tool call of the reply has two objects of arguments.')
    }
    call.arguments.add(text)
    return { type: 'tool_call', index: at, ...(text && { arguments: text }) }
  }

  /** Returns the place of the call that a piece goes on with, or -1 if the piece begins a call. */
  #find(index: number | undefined, id: string, name: string, text: string): number {
    const isAt = (call: Call) => index === undefined || call.index === index
    const sameId = this.#calls.findLastIndex((call) => isAt(call) && (id === '' || call.id === id))
    const at = sameId >= 0 ? sameId : this.#calls.findLastIndex(isAt)
    const call = this.#calls[at]
    if (call === undefined || name === '') return at
    const { isOpen, isComplete } = call.arguments
    if (sameId < 0) return isOpen && text !== '' && !beginsObject(text) ? at : -1
    const beginsAnother = isComplete ? text !== '' || name !== call.name : !isOpen && name !== call.name
    return beginsAnother ? -1 : at
  }

  #begin(index: number | undefined, id: string, name: string, text: string): ToolCallDelta {
    if (name === '') throw new Error('A tool call of the reply has no name.')
    const at = this.count
    if (at >= maxCalls) throw new Error(`The reply has more than ${maxCalls} tool calls.`)
    const call = { index, id, name, arguments: new ObjectText() }
    call.arguments.add(text)
    this.#calls.push(call)
    let ownId = id
    for (let number = at; ownId === '' || this.#ids.has(ownId); number += 1) ownId = `call_${number}`
    this.#ids.add(ownId)
    return { type: 'tool_call', index: at, id: ownId, name, ...(text && { arguments: text }) }
  }
}

function beginsObject(text: string): boolean {
  return /^\s*\{/.test(text)
}

/** Finds the end of a JSON object that comes in pieces. */
class ObjectText {
  #depth = 0
  #isQuoted = false
  #isEscaped = false
  /** Whether the object has begun and ended. */
  isComplete = false

  /** Whether the object has begun and not ended. */
  get isOpen(): boolean {
    return this.#depth > 0
  }

  add(text: string): void {
    for (const character of text) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (character === '"') this.#isQuoted = this.isOpen && !this.#isQuoted
      else if (this.#isQuoted) this.#isEscaped = character === '\\'
      else if (character === '{') this.#depth += 1
      else if (character === '}' && this.isOpen) {
        this.#depth -= 1
        this.isComplete ||= this.#depth === 0
      }
    }
  }
}
