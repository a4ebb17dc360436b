import { type AiProvider, NodekeepError, type RegistryReader } from '@nodekeep/plugin-sdk'
import type { Chat } from './chat.ts'

/** The chats that run now. Ends them from outside. */
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

  /** Returns the tokens of the running chats of a user up to now, estimated. */
  tokensOf(userUuid: string): number {
    let tokens = 0
    for (const chat of this.#chats) if (chat.userUuid === userUuid) tokens += chat.tokens
    return tokens
  }

  /** Ends the chats of a user whose session has ended. The session of a chat is not known. */
  endOfUser(userUuid: string): void {
    const error = new NodekeepError(
      'UNAUTHORIZED',
      'Your session ended, and the chat with it. Sign in again.',
    )
    for (const chat of [...this.#chats]) if (chat.userUuid === userUuid) chat.end(error, 'aborted')
  }

  /** Ends the chats whose provider was unloaded. */
  endOrphans(): void {
    for (const chat of [...this.#chats]) this.endIfOrphaned(chat)
  }

  /** Ends a chat if its provider was unloaded. */
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

/** The stop itself is in the log, so the error is not logged. */
function unavailable(message: string): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', message, { headers: { 'retry-after': '5' }, logged: true })
}
