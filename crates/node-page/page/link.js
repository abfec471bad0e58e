// Documents in the fragment of an address, which no browser sends.

// Longer links are cut or refused by programs that people paste them into.
export const LONGEST_LINK = 32 * 1024;

// The letters of a document; `null`: it is too long for a link.
export function encoded(document) {
  const bytes = new TextEncoder().encode(JSON.stringify(document));
  if (bytes.length > LONGEST_LINK) return null;
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

// The document of such letters. Throws where there is none.
export function decoded(letters) {
  const binary = atob(letters.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
  return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
}
