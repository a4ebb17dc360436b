import { randomUUID } from 'node:crypto'
import type { Attention } from '@nodekeep/plugin-sdk'

/** A message to the receiver, as it is sent. */
export interface Message {
  /** It stays when the message is sent again, so that a receiver knows it. */
  readonly id: string
  /** JSON. */
  readonly body: string
}

/** The kinds of messages. */
type MessageType = 'node.attention' | 'node.well' | 'node.test'

/** Plugins write the sentences, so both are bounded. */
const maxItems = 50
const maxSentence = 2000

/**
 * Makes the message that tells what needs the owner, or that the node is well again.
 *
 * @param node the address of the node
 */
export function attentionMessage(attention: readonly Attention[], node: string): Message {
  if (attention.length === 0) return newMessage('node.well', node, 'Your node is well again.', [])
  const told = attention
    .slice(0, maxItems)
    .map((item) => ({ ...item, message: item.message.slice(0, maxSentence) }))
  return newMessage('node.attention', node, told.map(({ message }) => message).join(' '), told)
}

/** Makes a message that tries out the receiver. */
export function testMessage(node: string): Message {
  return newMessage('node.test', node, 'This is a test. Messages of your node arrive here.', [])
}

function newMessage(type: MessageType, node: string, text: string, attention: readonly Attention[]): Message {
  const data = { node, text, attention }
  return {
    id: `msg_${randomUUID()}`,
    body: JSON.stringify({ type, timestamp: new Date().toISOString(), data }),
  }
}
