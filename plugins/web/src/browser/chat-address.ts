/** The folder of the conversations, among the files of the person. */
export const chatFolder = '/chats'

/** The date in the name of a conversation, before its title. */
export const chatDatePattern = /^\d{4}-\d\d-\d\d /

/** Returns the name of the conversation at a path; `null` if none is stored there. */
export function chatNameAt(path: string): string | null {
  return /^\/chats\/([^/]+\.json)$/.exec(path)?.[1] ?? null
}

/** Returns the title in the name of a conversation. */
export function titleOf(name: string): string {
  return name.replace(/\.json$/, '').replace(chatDatePattern, '')
}

/** Returns the address at which the page of chats shows a conversation. */
export function chatAddress(name: string): string {
  return `#/chat/${encodeURIComponent(name)}`
}
