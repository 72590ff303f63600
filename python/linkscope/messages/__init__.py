"""The words of linkscope: what each code says, in one template a code, and how numbers are written."""
