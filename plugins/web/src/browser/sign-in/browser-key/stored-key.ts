import type { SealedKey } from './sealed-key.ts'

/** The storage belongs to one origin: at another address of the node, the browser has another one. */
const name = 'nodekeep.key'

/** Returns the key that this browser keeps for this address of the node; `null` without one. */
export function storedKey(): SealedKey | null {
  try {
    return JSON.parse(localStorage.getItem(name) ?? 'null')
  } catch {
    // The person may have switched off the storage.
    return null
  }
}

/**
 * Stores a key, and asks the browser not to remove it when it needs space.
 *
 * @throws DOMException if the browser stores nothing
 */
export function storeKey(key: SealedKey): void {
  localStorage.setItem(name, JSON.stringify(key))
  const { storage } = navigator as { storage?: StorageManager }
  storage?.persist?.().catch(() => {})
}

export function forgetStoredKey(): void {
  localStorage.removeItem(name)
}
