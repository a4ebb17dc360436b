import { type AiProvider, NodekeepError, type RegistryReader } from '@nodekeep/plugin-sdk'
import type { Chat } from './chat.ts'

/** The chats that run now, and what ends them from outside. */
export class RunningChats {
  readonly #providers: RegistryReader<AiProvider>
  readonly #chats = new Set<Chat>()
  #ended = false

  constructor(providers: RegistryReader<AiProvider>) {
    this.#providers = providers
  }

  add(chat: Chat): void {
    this.#chats.add(chat)
  }

  delete(chat: Chat): void {
    this.#chats.delete(chat)
  }

  /** What the running chats of a user come to so far, estimated. */
  tokensOf(userUuid: string): number {
    let tokens = 0
    for (const chat of this.#chats) if (chat.userUuid === userUuid) tokens += chat.tokens
    return tokens
  }

  /** Ends the chats of a user whose session has ended. Which session a chat belongs to is not known. */
  endOfUser(userUuid: string): void {
    const error = new NodekeepError(
      'UNAUTHORIZED',
      'A session of yours ended, and the chat with it. Sign in again.',
    )
    for (const chat of [...this.#chats]) if (chat.userUuid === userUuid) chat.end(error, 'aborted')
  }

  /** Ends the chats whose provider has gone. */
  endOrphans(): void {
    for (const chat of [...this.#chats]) this.endIfOrphaned(chat)
  }

  /** Ends a chat if its provider has gone. */
  endIfOrphaned(chat: Chat): void {
    const { candidate } = chat
    if (candidate === null || this.#providers.get(candidate.provider) === candidate.source) return
    chat.end(unavailable(`The AI provider "${candidate.provider}" was stopped. Try again later.`), 'failed')
  }

  /** Ends all chats for good. */
  endAll(): void {
    this.#ended = true
    for (const chat of [...this.#chats]) chat.end(stopping(), 'failed')
  }

  /** @throws NodekeepError SERVICE_UNAVAILABLE after `endAll` */
  refuseAfterEnd(): void {
    if (this.#ended) throw stopping()
  }
}

function stopping(): NodekeepError {
  return unavailable('The node is stopping. Try again later.')
}

/** The log knows it already: something was stopped. */
function unavailable(message: string): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', message, { headers: { 'retry-after': '5' }, logged: true })
}
