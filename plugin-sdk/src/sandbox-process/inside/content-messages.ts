/** The header of a content that a sandbox shall decode. The body of its frame is the content. */
export interface ContentOrder {
  readonly order: unknown
}

/** The header of a message from a sandbox that decodes contents. */
export type ContentMessage =
  /** The process can take a content: once it has started, and after each answer, when its garbage is collected. */
  | { readonly kind: 'ready' }
  /** The program has the whole content. One of the other two follows. */
  | { readonly kind: 'began' }
  /** The body holds the parts, and `parts` their lengths in bytes. */
  | { readonly kind: 'answer'; readonly answer: unknown; readonly parts: readonly number[] }
  /** `message` is a sentence of the decoder for people, or null. `cause` tells the author of the decoder what was thrown. */
  | { readonly kind: 'refused'; readonly message: string | null; readonly cause: string }

/** Most characters of a refusal's message, and of its cause. */
export const longestMessage = 200
export const longestCause = 2000
